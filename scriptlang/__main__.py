"""`python -m scriptlang`: the command line without the installed `scriptlang` script."""

from .command_line import main

raise SystemExit(main())

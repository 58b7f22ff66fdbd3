"""`python -m scriptlang`: the command line without the installed `scriptlang` script."""

from .cli import main

raise SystemExit(main())

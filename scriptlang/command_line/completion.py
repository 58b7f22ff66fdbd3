"""scriptlang completion: completions for shells, generated from the parser.

eval "$(scriptlang completion bash)"
scriptlang completion fish > ~/.config/fish/completions/scriptlang.fish
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from .main import parser
from .output import Output

SHELLS = ("bash", "zsh", "fish")


def add(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=SHELLS, help="the shell that reads them")


def run(options: argparse.Namespace, out: Output) -> int:
    made = {"bash": bash, "zsh": zsh, "fish": fish}[options.shell]()
    out.data({"shell": options.shell, "script": made}) if out.json else out.text(made)
    return 0


def commands() -> Iterator[tuple[str, str, list[argparse.Action]]]:
    """The (name, help, options) of each command."""
    top = parser()
    (under,) = (a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    helps = {a.dest: a.help or "" for a in under._choices_actions}
    for name, command in under.choices.items():
        yield name, helps.get(name, ""), [a for a in command._actions if a.option_strings]


def bash() -> str:
    names = " ".join(name for name, _, _ in commands())
    cases = "\n".join(
        f'    {name}) words="{" ".join(s for a in actions for s in a.option_strings)}" ;;'
        for name, _, actions in commands()
    )
    return f"""_scriptlang() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{names}" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _scriptlang scriptlang"""


def zsh() -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + bash()


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish() -> str:
    lines = []
    for name, help, actions in commands():
        lines.append(
            f"complete -c scriptlang -n __fish_use_subcommand -a {name} -d {quoted(help)} -f"
        )
        for action in actions:
            long = [s[2:] for s in action.option_strings if s.startswith("--")]
            short = [s[1:] for s in action.option_strings if not s.startswith("--")]
            parts = [f"complete -c scriptlang -n '__fish_seen_subcommand_from {name}'"]
            parts += [f"-l {s}" for s in long] + [f"-s {s}" for s in short]
            parts += ["-r"] if action.nargs != 0 else []
            if action.choices:
                parts.append(f"-a {quoted(' '.join(map(str, action.choices)))}")
            lines.append(" ".join([*parts, f"-d {quoted(action.help or '')}"]))
    return "\n".join(lines)

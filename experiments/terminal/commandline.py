"""The words and the errors of every command: a user's error gives one line, an error of the program a traceback."""

import io
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from ...configs import PLOT_FORMATS, explain, unknown
from ...configs.composition import WRONG
from ...configs.errors import refuse_valueless_groups
from ...configs.help import help_text
from ...configs.machine import expanded, read_machine
from ...simcore import ConfigError, CoreError
from ..results.files import DamagedError
from ..results.rows import rows_in

EXIT_RUN_FAILED = 1
EXIT_BAD_CONFIG = 2
_LISTED = 20  # folders in a message
_MULTIRUN = {"-m", "--multirun"}
EXIT_INTERRUPTED = 130  # the convention of shells for a program that Ctrl-C ended


class CommandError(Exception):
    """A command cannot do its work. The message gives the reason and a remedy."""

    status = EXIT_BAD_CONFIG


class _PastHydraError(BaseException):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


def parse(
    words: Sequence[str], keys: Collection[str], options: Collection[str]
) -> tuple[list[Path], dict[str, str], set[str]]:
    """Folders, keys with their values (`y=p99`) and options (`--help`, without dashes) of a command line."""
    folders: list[Path] = []
    given: dict[str, str] = {}
    chosen: set[str] = set()
    for word in words:
        key, equals, value = word.partition("=")
        if word.startswith("-"):
            if word.lstrip("-") not in options:
                raise ConfigError(unknown("command line", word, [f"--{one}" for one in options if one[1:]], "option"))
            chosen.add(word.lstrip("-"))
        elif not equals:
            folders.append(Path(word))
        elif key not in keys:
            raise ConfigError(unknown(word, key, keys, "key"))
        elif not value:
            raise ConfigError(f"{key}: a value is missing; write {key}=...")
        else:
            given[key] = value
    return folders, given, chosen


def picture_file(word: str) -> Path:
    """The file of a picture that the user names by `out=`."""
    if Path(word).suffix[1:] not in PLOT_FORMATS:
        raise CommandError(f"out={word}: the name of a picture ends with .{', .'.join(PLOT_FORMATS)}")
    return Path(word)


def require_folder(name: str, directory: Path) -> None:
    """Check the argument of the command `name` that takes a folder of runs."""
    if directory.is_dir():
        return
    key, equals, value = str(directory).partition("=")
    if equals:
        meant = Path("results") / value if key == "study" else Path(value)
        raise CommandError(f"'{directory}': the command takes a folder and no keys; write {name} {meant}")
    studies = [str(path) for path in sorted(Path("results").glob("*")) if path.is_dir()][:_LISTED]
    here = f"; folders here: {', '.join(studies)}" if studies else ""
    raise CommandError(f"{directory} is not a folder; name one that holds runs, e.g. results/<study>{here}")


def of_run(own: Sequence[str], error: BaseException) -> ConfigError:
    """The error of one run of a sweep; `own` are the overrides that distinguish it from the other runs."""
    return ConfigError(f"{' '.join(own)}: {explain(error)}" if own else explain(error))


def relative(path: Path) -> Path:
    """The path from the working directory if it lies below, for messages."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def some(words: Sequence[str], most: int = 8, between: str = ", ") -> str:
    """The first words for a message, and the number of the others."""
    more = [f"and {len(words) - most} more"] if len(words) > most else []
    return between.join([*words[:most], *more])


def say_damaged(name: str, damaged: Sequence[DamagedError]) -> None:
    """Report on stderr the runs that a command leaves out."""
    for error in damaged:
        print(f"{name}: left out: {error}", file=sys.stderr, flush=True)


def rows_of(name: str, directory: Path) -> tuple[list[dict[str, Any]], list[DamagedError]]:
    """The rows of the runs of a folder, the argument of the command `name`, and its damaged runs, which it reports."""
    require_folder(name, directory)
    rows, damaged = rows_in(directory)
    say_damaged(name, damaged)
    if not rows and damaged:
        raise CoreError(f"every run below {directory} is damaged")
    if not rows:
        raise CommandError(f"no run below {directory}; make some with `flitgym simulate -m study=<name> ...`")
    return rows, damaged


@contextmanager
def past_hydra() -> Iterator[None]:
    """Pass the errors of a block to `by_hydra`, without the line that Hydra would print first."""
    try:
        yield
    except Exception as error:
        raise _PastHydraError(error) from None


def call(app: Callable[..., object], *config: DictConfig) -> None:
    """Call a Hydra application. Its work is within `past_hydra`, so all other errors concern the configuration.

    Without a configuration, Hydra composes it from the command line.
    """
    try:
        app(*config)
    except _PastHydraError as past:
        raise past.error from None
    except (OSError, *WRONG):
        raise
    except Exception as error:
        # Hydra and its parsers raise errors of many types for a configuration that cannot be read.
        raise ConfigError(explain(error)) from error


def by_hydra(app: Callable[[], object], name: str, root: str, lists: str = "") -> None:
    """Call the Hydra application of the command `name`, whose primary configuration is `root`.

    A command whose keys take lists instead of a sweep (`-m`) gives `lists`, a noun for its work.
    """
    if {"-h", "--help"} & set(sys.argv[1:]):
        words = [word for word in sys.argv[1:] if not word.startswith("-")]
        print(help_text(name, root, words, sweeps=not lists))
        return
    # Hydra accepts this flag before or after all overrides, and users type it anywhere.
    flags = sorted(_MULTIRUN & set(sys.argv[1:]))
    if flags and lists:
        raise CommandError(f"{flags[0]}: {lists} takes lists without it; leave it out")
    words = [word for word in sys.argv[1:] if word not in flags]
    sys.argv[1:] = [*flags, *expanded(words, root)]
    for word in words:
        if word.startswith("machine="):
            for text in read_machine(Path(word.partition("=")[2])).shortfalls():
                print(f"{name}: warning: {text}", file=sys.stderr)
    call(app)


def main_of(name: str, usage: str, run: Callable[[Sequence[str]], str]) -> Callable[[], NoReturn]:
    """The entry point of a command without Hydra: prints the text that `run` makes of the words, or the usage."""

    def main() -> NoReturn:
        words = sys.argv[1:]
        if not words or {"-h", "--help"} & set(words):
            print(usage, end="")
            sys.exit(0 if words else 2)
        sys.exit(run_command(name, lambda: print(run(words))))

    return main


def run_command(name: str, command: Callable[[], object]) -> int:
    """Call `command`, and turn its errors into a message on stderr and an exit status.

    With HYDRA_FULL_ERROR=1, errors give tracebacks instead.
    """
    # All imports are done. From here on, Ctrl-C must raise an error, so that commands can clean up.
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A path may hold bytes that are not valid text, and is printed with the same bytes.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")
    # A batch system ends a job by SIGTERM, which must clean up like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if os.environ.get("HYDRA_FULL_ERROR"):
        command()
        return 0
    # Makes Hydra raise an exception instead of printing its own report and exiting.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        refuse_valueless_groups(sys.argv[1:])
        command()
        return 0
    except CommandError as error:
        message, status = str(error), error.status
    except (HydraException, OmegaConfBaseException, YAMLError, ConfigError) as error:
        message, status = explain(error), EXIT_BAD_CONFIG
    except (CoreError, DamagedError) as error:
        message, status = str(error), EXIT_RUN_FAILED
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        message, status = f"{error.strerror or error}{where}", EXIT_RUN_FAILED
    except KeyboardInterrupt as interruption:
        kept = str(interruption) or "finished runs are kept, start again to continue"
        message, status = f"interrupted; {kept}", EXIT_INTERRUPTED
    finally:
        del os.environ["HYDRA_FULL_ERROR"]
    print(f"{name}: {message}", file=sys.stderr)
    return status

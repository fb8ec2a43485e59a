"""What every command does about errors: the user's own in one clear line, the program's with a traceback."""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from ...configs import explain
from ...configs.composition import WRONG
from ...configs.errors import explain_file, refuse_valueless_groups
from ...configs.help import help_text
from ...simcore import ConfigError, CoreError
from ..results.files import DamagedError

EXIT_RUN_FAILED = 1
EXIT_BAD_CONFIG = 2
_LISTED = 20  # folders in a message
_MULTIRUN = {"-m", "--multirun"}
EXIT_INTERRUPTED = 130  # what shells expect of a program that Ctrl-C ended


class CommandError(Exception):
    """A command cannot do what was asked; the message says why and what would help."""

    status = EXIT_BAD_CONFIG


class _PastHydraError(BaseException):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


def require_folder(name: str, directory: Path) -> None:
    """Refuse what is no folder, for commands that take one of runs.

    Args:
        name: The name of the command.
        directory: As it was typed.

    Raises:
        CommandError: names what was meant, or the folders of studies here.
    """
    if directory.is_dir():
        return
    key, equals, value = str(directory).partition("=")
    if equals:
        meant = Path("results") / value if key == "study" else Path(value)
        raise CommandError(f"'{directory}': it takes a folder and no keys; write {name} {meant}")
    studies = [str(path) for path in sorted(Path("results").glob("*")) if path.is_dir()]
    here = f"; here are {', '.join(studies[:_LISTED])}{' ...' if len(studies) > _LISTED else ''}" if studies else ""
    raise CommandError(f"{directory} is not a folder; name one that holds runs, e.g. results/<study>{here}")


def of_run(own: Sequence[str], error: BaseException) -> ConfigError:
    """The error for one of several runs.

    Args:
        own: The overrides that tell it from the others.
        error: What is wrong with it.
    """
    return ConfigError(f"{' '.join(own)}: {explain(error)}" if own else explain(error))


def say_damaged(name: str, damaged: Sequence[DamagedError]) -> None:
    """Name the runs that a command leaves out, on stderr."""
    for error in damaged:
        print(f"{name}: left out: {error}", file=sys.stderr, flush=True)


@contextmanager
def past_hydra() -> Iterator[None]:
    """Take the errors of a block past Hydra, which would print a line about them first, to `by_hydra`."""
    try:
        yield
    except Exception as error:
        raise _PastHydraError(error) from None


def by_hydra(app: Callable[[], object], name: str, root: str, lists: str = "") -> None:
    """Call a Hydra application. Its own work is within `past_hydra`, so every other error is about the configuration.

    Args:
        app: Decorated with `hydra.main`.
        name: The name of the command.
        root: The name of its primary configuration.
        lists: What the command makes, if its keys take lists and it has no sweep (`-m`).

    Raises:
        ConfigError, hydra.errors.HydraException: the configuration cannot be composed.
        CommandError: a sweep is asked for, and `lists` is given.
        Exception: an error of the work.
    """
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(help_text(name, root, [word for word in sys.argv[1:] if not word.startswith("-")]))
        return
    # Hydra takes this flag before or behind all overrides, and users type it anywhere.
    flags = sorted(_MULTIRUN & set(sys.argv[1:]))
    if flags and lists:
        raise CommandError(f"{flags[0]}: {lists} takes lists as they are; leave it out")
    sys.argv[1:] = [*flags, *(word for word in sys.argv[1:] if word not in flags)]
    try:
        app()
    except _PastHydraError as past:
        raise past.error from None
    except (OSError, *WRONG):
        raise
    except Exception as error:
        # Hydra and the parsers that it calls have errors of many types for a configuration that cannot be read.
        raise ConfigError(explain_file(error, sys.argv[1:])) from error


def run_command(name: str, command: Callable[[], object]) -> int:
    """Call `command` and turn what it raises into a message on stderr and an exit status.

    Set HYDRA_FULL_ERROR=1 to see tracebacks instead.
    """
    # Imports are over: from here on there is something to clean up.
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A path may have bytes that are no text; shown, it is to have the same.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")
    # A batch system ends a job by SIGTERM: like Ctrl-C, so that nothing half done is left.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if os.environ.get("HYDRA_FULL_ERROR"):
        command()
        return 0
    # Hydra would print its own report and exit; with this it lets the exception through to us.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        refuse_valueless_groups(sys.argv[1:])
        command()
    except CommandError as error:
        return _fail(name, str(error), error.status)
    except (HydraException, OmegaConfBaseException, YAMLError, ConfigError) as error:
        return _fail(name, explain(error), EXIT_BAD_CONFIG)
    except (CoreError, DamagedError) as error:
        return _fail(name, str(error), EXIT_RUN_FAILED)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _fail(name, f"{error.strerror or error}{where}", EXIT_RUN_FAILED)
    except KeyboardInterrupt as interruption:
        kept = str(interruption) or "finished runs are kept, start again to go on"
        return _fail(name, f"interrupted; {kept}", EXIT_INTERRUPTED)
    finally:
        del os.environ["HYDRA_FULL_ERROR"]
    return 0


def _fail(name: str, message: str, status: int) -> int:
    print(f"{name}: {message}", file=sys.stderr)
    return status

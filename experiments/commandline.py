"""What every command does about errors: the user's own in one clear line, the program's with a traceback."""

import os
import signal
import sys
from collections.abc import Callable

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from ..configs import explain
from ..simcore import ConfigError, CoreError

EXIT_RUN_FAILED = 1
EXIT_BAD_CONFIG = 2
EXIT_INTERRUPTED = 130  # what shells expect of a program that Ctrl-C ended


class CommandError(Exception):
    """A command cannot do what was asked; the message says why and what would help."""


def run_command(name: str, command: Callable[[], object]) -> int:
    """Call `command` and turn what it raises into a message on stderr and an exit status.

    Set HYDRA_FULL_ERROR=1 to see tracebacks instead.
    """
    # A batch system ends a job by SIGTERM: like Ctrl-C, so that nothing half done is left.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if os.environ.get("HYDRA_FULL_ERROR"):
        command()
        return 0
    # Hydra would print its own report and exit; with this it lets the exception through to us.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        command()
    except (HydraException, OmegaConfBaseException, ConfigError, CommandError) as error:
        return _fail(name, explain(error), EXIT_BAD_CONFIG)
    except CoreError as error:
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

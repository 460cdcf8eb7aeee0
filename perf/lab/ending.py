"""How the tools of perf/ end: a signal becomes KeyboardInterrupt once, so that hosts and children are removed; errors are one line."""
import signal
import subprocess
import sys

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def interrupted(*_):
    # The first one ends the run; a second must not end the cleaning up.
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def catch_signals():
    for number in ENDING:
        signal.signal(number, interrupted)


def run_tool(name, main):
    """main(), and out: 0 done, 1 an error (on stderr, one line), 130 interrupted with nothing left behind."""
    catch_signals()
    try:
        main()
    except KeyboardInterrupt:
        print(f"{name}: interrupted; nothing is left behind", file=sys.stderr)
        sys.exit(130)
    except subprocess.TimeoutExpired as e:
        sys.exit(f"{name}: no end within {e.timeout} s: {' '.join(e.cmd)[:300]}")
    except (RuntimeError, OSError, ValueError, subprocess.CalledProcessError) as e:
        sys.exit(f"{name}: {e}")

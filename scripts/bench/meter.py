"""CPU seconds and memory of a command and of everything that it starts, also of what ends unwatched.

They are read from a cgroup (v1 controllers or v2) where one can be made. Otherwise CPU is what the kernel adds up for
waited-for children, which misses the cells of the sandbox, and memory is that of the largest process.
"""

import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


class Measured:
    """What a command used: seconds, megabytes, its exit code and output."""

    def __init__(self, wall, cpu, peak, code, stdout, stderr):
        self.wall, self.cpu, self.peak, self.code = wall, cpu, peak, code
        self.stdout, self.stderr = stdout, stderr


class Meter:
    def __init__(self):
        self.folders = []
        self.cpu_file = self.memory_file = None
        for base in (CGROUPS / "cpuacct", CGROUPS / "memory", CGROUPS):
            folder = base / f"bench-{os.getpid()}"
            try:
                folder.mkdir()
            except OSError:
                continue
            found = False
            for name in ("cpuacct.usage", "cpu.stat"):
                if self.cpu_file is None and (folder / name).exists():
                    self.cpu_file, found = folder / name, True
            if self.memory_file is None and (folder / "memory.stat").exists():
                self.memory_file, found = folder / "memory.stat", True
            if found:
                self.folders.append(folder)
            else:
                folder.rmdir()

    def how(self):
        return "CPU from a cgroup" if self.cpu_file else "CPU from waited-for children only"

    def _cpu(self):
        if self.cpu_file is None:
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            return used.ru_utime + used.ru_stime
        words = self.cpu_file.read_text().split()
        return int(words[0]) / 1e9 if len(words) == 1 else int(words[1]) / 1e6

    def _memory(self):
        """Megabytes that all processes hold now, without the page cache of files."""
        stat = dict(line.split() for line in self.memory_file.read_text().splitlines())
        names = ("total_rss", "total_shmem") if "total_rss" in stat else ("anon", "shmem")
        return sum(int(stat.get(name, 0)) for name in names) / 2**20

    def _watch(self, ended, peak):
        while not ended.wait(0.05):
            peak[0] = max(peak[0], self._memory())

    def run(self, argv, cwd, env=None, stdout=subprocess.PIPE):
        """Runs a command. Memory is looked at 20 times a second."""

        def enter():
            for folder in self.folders:
                (folder / "cgroup.procs").write_text("0")

        ended, peak = threading.Event(), [0.0]
        watch = threading.Thread(target=self._watch, args=(ended, peak)) if self.memory_file else None
        before, start = self._cpu(), time.perf_counter()
        if watch:
            watch.start()
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            preexec_fn=enter,
        )
        wall = time.perf_counter() - start
        ended.set()
        if watch:
            watch.join()
        else:
            peak[0] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        return Measured(wall, self._cpu() - before, peak[0], done.returncode, done.stdout, done.stderr)

    def run_or_exit(self, argv, cwd, env=None, codes=(0,)):
        done = self.run(argv, cwd, env)
        if done.code not in codes:
            sys.exit(
                f"{argv} ended with {done.code}:\n"
                f"{done.stdout[-3000:].decode(errors='replace')}{done.stderr[-3000:].decode(errors='replace')}"
            )
        return done

    def close(self):
        for folder in self.folders:
            for _ in range(50):
                try:
                    folder.rmdir()
                    break
                except OSError:
                    time.sleep(0.1)

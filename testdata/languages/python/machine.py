import os
import platform
import resource
import sys
import time

assert platform.system() == 'Linux' and os.cpu_count() >= 1 and len(os.sched_getaffinity(0)) >= 1
assert os.getpid() > 0 and os.getppid() >= 0 and os.getuid() == os.geteuid() and os.getgid() == os.getegid()
assert os.getpgrp() >= 0 and os.getpgid(0) >= 0 and os.getsid(0) >= 0 and len(os.getresuid()) == 3 and len(os.getresgid()) == 3
assert isinstance(os.getgroups(), list) and os.times().user >= 0 and os.getpriority(os.PRIO_PROCESS, 0) >= 0
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (64, 64) and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0
assert os.sched_getscheduler(0) == os.SCHED_OTHER and os.sched_getparam(0).sched_priority == 0
assert os.sched_get_priority_min(os.SCHED_OTHER) == os.sched_get_priority_max(os.SCHED_OTHER) == 0
assert time.process_time() >= 0 and time.clock_getres(time.CLOCK_MONOTONIC) > 0 and len(os.getrandom(8)) == 8
assert not sys.stdin.isatty() and os.umask(0o22) == 0o22
os.set_inheritable(0, True)
os.set_inheritable(0, False)
os.set_blocking(0, False)
assert not os.get_blocking(0)
block = os.memfd_create('block', os.MFD_CLOEXEC)
assert os.write(block, b'abc') == 3
os.sched_yield()
print('machine ok')

# Threads and children with modules of the template.
import concurrent.futures, multiprocessing, os, random, re, threading
from collections import deque

context = threading.local()
lock = threading.Lock()
seen = deque()

def work(n):
    context.n = n
    with lock:
        seen.append(re.sub("x", str(n), "x"))
    return n * n

with concurrent.futures.ThreadPoolExecutor(3) as pool:
    print(list(pool.map(work, range(5))), sorted(seen), threading.current_thread() is threading.main_thread())
pid = os.fork()
if pid == 0:
    os._exit(int(random.random() * 0) + 3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

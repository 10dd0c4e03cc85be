import multiprocessing
import os

assert os.cpu_count() == multiprocessing.cpu_count() == len(os.sched_getaffinity(0)), os.cpu_count()
print('processors', os.cpu_count())

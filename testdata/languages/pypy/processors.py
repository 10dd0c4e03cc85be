import multiprocessing

print('processors', multiprocessing.cpu_count())

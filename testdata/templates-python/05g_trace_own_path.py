# Modules that print a traceback may be in a directory that the program has added to sys.path.
import os
import sys

os.mkdir('lib')
with open('lib/traceback.py', 'w') as f:
    f.write('print("own traceback")\nraise ImportError\n')
sys.path.insert(0, 'lib')
raise ValueError('boom')

# A trace function keeps the names of the program.
f=open("o","w"); f.write("x")
import sys
def t(*a): pass
sys.settrace(t)

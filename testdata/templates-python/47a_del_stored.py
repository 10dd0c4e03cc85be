# The same without the usual modules.
import io, os


class Node:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("end of", self.name, os.getcwd())


first = Node("one of the program")
unwritten = open("unwritten.txt", "w")
unwritten.write("the last line")
os.own = Node("one in os")
io.__all__.append(Node("one in a list of io"))
io.open = lambda *a: first

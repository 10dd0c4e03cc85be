# What a program stores in modules of the interpreter ends with it, and so does what that refers to.
import copyreg
import functools
import os
import typing


class Node:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        os.close(os.open("end of " + self.name, os.O_CREAT)) # in which order they end differs
        print(typing is not None, os.getcwd())


first = Node("one of a module")
unwritten = open("unwritten.txt", "w")
unwritten.write("the last line")
copyreg.pickle(Node, lambda n: (Node, (n.name,)))
alias = typing.Optional[Node], typing.List[Node], typing.Dict[str, Node]
os.own = Node("one in os")
functools.own = [Node("one in functools")]
typing.__all__.append(Node)

# Files that only objects in modules refer to.
import csv, json, re
w = csv.writer(open("a.csv", "w"))
w.writerow([1, 2])
json.x = w


class Log:
    def __init__(self):
        self.f = open("log.txt", "w")
        self.f.write("x")


re._cache[1] = Log()
del w


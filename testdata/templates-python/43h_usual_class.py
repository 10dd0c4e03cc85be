# A class of a module gets a method that refers to the program, whose file ends all the same.
import json; f=open("out.txt","w"); f.write("x"); json.JSONEncoder.default=lambda s,o: str(o)

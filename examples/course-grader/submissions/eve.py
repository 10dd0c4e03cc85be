import os
os.kill(os.getppid(), 9)
print(open("/etc/shadow").read())

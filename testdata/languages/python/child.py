import subprocess

child = subprocess.run(["echo", "from a child"], capture_output=True, text=True, check=True)
print(child.stdout, end="")

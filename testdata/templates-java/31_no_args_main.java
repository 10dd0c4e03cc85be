void main() { IO.println("instance " + getClass()); }

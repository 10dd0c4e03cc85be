import core.stdc.stdlib : abort;
void main() { abort(); }

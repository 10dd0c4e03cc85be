import core.thread;

void main() { Thread.sleep(60.seconds); }

module seven;

int count() { return 7; }
enum text = "from another file";

print abs($^T - time) <= 1 ? "now" : "then", "\n";
print -M $0 > -1 ? "ok\n" : "no\n";

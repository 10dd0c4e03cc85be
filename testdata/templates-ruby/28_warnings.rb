warn "own", "two"
$VERBOSE = true
x = 5
def unused; y = 1; end
X = 1
X = 2
warn "deprecated", category: :deprecated

class Own < StandardError; def message = "own\nsecond line"; def initialize(x) = super(); end
def f(&) = yield
f { [1].each { |x| raise Own.new(x) } }

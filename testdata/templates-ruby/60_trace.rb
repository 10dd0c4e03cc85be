t = TracePoint.new(:call, :line) { |x| puts "#{x.event} #{x.lineno} #{x.method_id}" }
def f = 1
t.enable { f }
set_trace_func proc { |e, f, l, *| print e, l, " " }
x = 1
set_trace_func nil
puts

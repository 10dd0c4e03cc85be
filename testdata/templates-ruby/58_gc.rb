GC.start
p GC.stress, GC.count > 0, ObjectSpace.each_object(Class).count > 100
class F; def self.f = ObjectSpace.define_finalizer(Object.new, proc { puts "final" }); end
F.f
GC.start
p ObjectSpace::WeakMap.new.size

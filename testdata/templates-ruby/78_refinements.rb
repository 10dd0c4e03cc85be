module R; refine(Integer) { def twice = self * 2 }; end
using R
p 2.twice
case { a: [1, { b: 2 }] } in { a: [Integer => x, { b: }] } then p x, b end
p (begin; case 5; in String then 1; end; rescue => e; e.class; end)

puts [3, 1, 2].sort { |a, b| b <=> a }.inspect, %w[b a].sort_by(&:itself).inspect, (1..10).each_slice(3).to_a.inspect, [1, 2, 3].each_cons(2).map(&:sum).inspect, { a: 1 }.map { |k, v| [k, v] }.to_h

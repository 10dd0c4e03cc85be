p loop { break 5 }, (1..3).each { |x| next if x == 1; break x }, [1, 2].each_with_index.to_a
begin; [1].each { return }; ensure; puts "ensured"; end

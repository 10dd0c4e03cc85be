p Object.new.inspect =~ /0x/, "a".hash == "a".hash, :a.object_id == :a.object_id, 1.object_id, nil.object_id, { "b" => 1, "a" => 2 }.keys, [1, "a"].hash == [1, "a"].hash

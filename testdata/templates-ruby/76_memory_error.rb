begin; "a" * (1 << 62); rescue ArgumentError, NoMemoryError => e; puts e.class; end

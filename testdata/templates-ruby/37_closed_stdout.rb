$stdout.close
begin; puts "x"; rescue => e; warn e.class, e.message; end

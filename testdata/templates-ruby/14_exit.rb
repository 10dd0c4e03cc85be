at_exit { puts "at exit #{$!.class} #{$!.status}" }
begin; exit 3; ensure; puts "ensure"; end

require "timeout"
begin; Timeout.timeout(0.1) { sleep 5 }; rescue Timeout::Error => e; puts e.message; end
begin; Timeout.timeout(0.1) { loop {} }; rescue Timeout::Error => e; puts e.message; end

begin; 1.time; rescue => e; puts e.detailed_message(highlight: false), e.full_message(highlight: false), e.backtrace.inspect, e.backtrace_locations.first.lineno; end

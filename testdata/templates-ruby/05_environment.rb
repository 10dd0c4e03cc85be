ENV.sort.each { |k, v| puts "#{k}=#{v}" }
ENV["B"] = "c"
ENV.delete("HOME")
puts `env | sort`, ENV["NAME"], ENV.fetch("NONE", "none")
ENV.clear
puts `/usr/bin/env`

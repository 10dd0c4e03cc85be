require "json"; require "set"; require "time"; require "date"; require "digest"; require "yaml"; require "csv" rescue puts "no csv"
require "bigdecimal" rescue puts "no bigdecimal"
require "socket"; require "tempfile"; require "fileutils"; require "erb"; require "optparse"; require "pp"; require "zlib"; require "openssl"
puts JSON.generate({ a: [1, nil] }), Set[1, 2].inspect, Time.at(0).utc.iso8601, Date.new(2000, 1, 1), Digest::SHA256.hexdigest("a"), { "a" => [1] }.to_yaml, Zlib.crc32("a"), OpenSSL::Digest::MD5.hexdigest("a"), $LOADED_FEATURES.size

require "net/http"
print Net::HTTP.get(URI(ARGV[0]))

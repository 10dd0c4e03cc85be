ENV["TZ"] = "Asia/Tokyo"
p Time.at(0), Time.at(0).zone, Time.now.utc_offset

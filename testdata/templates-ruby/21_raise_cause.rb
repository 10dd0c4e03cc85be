begin
  begin; Integer("x"); rescue => e; raise KeyError, "outer"; end
end

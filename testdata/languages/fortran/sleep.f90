program sleeps
  call sleep(60)
end program sleeps

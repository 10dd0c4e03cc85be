main :: IO ()
main = do
  putStrLn "before"
  error "boom"

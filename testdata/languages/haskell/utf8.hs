main :: IO ()
main = do
  putStrLn "grün 日本 😀"
  line <- getLine
  if length line == 13 then putStrLn line else error ("read " ++ show (length line))

main :: IO ()
main = do
  putStrLn (1 :: Int)

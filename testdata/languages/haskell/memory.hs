import qualified Data.Map.Strict as Map

main :: IO ()
main = grow Map.empty 0
  where
    grow :: Map.Map Int Int -> Int -> IO ()
    grow kept n
      | Map.size kept < 0 = print kept
      | otherwise = grow (Map.insert n n kept) (n + 1)

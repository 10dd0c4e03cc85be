import qualified Data.ByteString as Bytes
import qualified Data.ByteString.Char8 as Chars
import System.Directory (getTemporaryDirectory)
import System.IO (IOMode (ReadMode), hClose, hPutStr, openTempFile, withBinaryFile)

main :: IO ()
main = do
  putStrLn ("big " ++ show ((2 :: Integer) ^ (100 :: Int)))
  bytes <- withBinaryFile "/dev/urandom" ReadMode (`Bytes.hGet` 16)
  putStrLn ("random " ++ if Bytes.length bytes == 16 then "ok" else "bad")
  dir <- getTemporaryDirectory
  (name, file) <- openTempFile dir "test"
  hPutStr file "ok"
  hClose file
  text <- Chars.readFile name
  putStrLn ("temp " ++ Chars.unpack text)

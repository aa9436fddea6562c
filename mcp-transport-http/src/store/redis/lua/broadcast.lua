local from, frame, most, most_bytes = unpack(ARGV)
local answer = 1
for _, node in ipairs(redis.call('ZRANGEBYSCORE', NODES, now() + 1, '+inf')) do
  if node ~= from and not put(node, frame, tonumber(most), tonumber(most_bytes)) then answer = -1 end
end
return answer

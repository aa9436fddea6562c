-- Nothing, or whether the stream has ended with the last of the events, and the events.
local _, stream, number, most, resume = unpack(ARGV)
number = tonumber(number)
local t = find() ~= nil and track(stream)
if not t or number < 1 or number < t.before or number > t.last then return nil end
if t.ended > 0 and (number == t.last or t.ended + tonumber(resume) <= now()) then return nil end
local answer = {0}
local taken = 0
while number < t.last and (taken < tonumber(most) or #answer == 1) do
  number = number + 1
  local framed = redis.call('HGET', EVENTS, name(stream, number))
  if not framed then return nil end
  taken = taken + #framed
  answer[#answer + 1] = framed
end
if t.ended > 0 and number == t.last then answer[1] = 1 end
return answer

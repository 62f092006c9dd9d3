package api

// getTask answers with a task as it is now (A2A §3.1.3): the fold of its entries,
// as every other answer and stream.
func (c *call) getTask(q request) {
	f := c.follow(q.id)
	_, err := c.known(q.id)
	if err == nil {
		err = f.load(c.r.Context())
	}
	c.answer(wireTaskOf(f.view.Task(), q.history), err)
}

# The one door: an internal load balancer that speaks TLS with the given certificate, and nothing else.

resource "aws_lb" "this" {
  #checkov:skip=CKV2_AWS_28:internal; a web firewall guards against the internet, from which nobody gets here
  #checkov:skip=CKV_AWS_150:a variable, so that a development instance can be destroyed; on by default, and in prod
  name                       = var.name
  internal                   = true
  load_balancer_type         = "application"
  subnets                    = var.subnet_ids
  security_groups            = [var.security_group_ids["balancer"]]
  drop_invalid_header_fields = true
  enable_deletion_protection = !var.destroy_with_data
  idle_timeout               = 300

  access_logs {
    enabled = true
    bucket  = var.access_bucket
    prefix  = "trino"
  }
}

resource "aws_lb_target_group" "this" {
  #checkov:skip=CKV_AWS_378:between balancer and Trino inside the VPC, by security groups that name each other; Trino sees by X-Forwarded-Proto that the client spoke TLS
  name                 = var.name
  port                 = 8080
  protocol             = "HTTP"
  target_type          = "ip"
  vpc_id               = var.vpc_id
  deregistration_delay = 60

  health_check {
    path    = "/v1/info"
    matcher = "200"
  }
}

resource "aws_lb_listener" "tls" {
  load_balancer_arn = aws_lb.this.arn
  port              = 443
  protocol          = "HTTPS"
  ssl_policy        = "ELBSecurityPolicy-TLS13-1-2-2021-06"
  certificate_arn   = var.certificate_arn

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.this.arn
  }
}
